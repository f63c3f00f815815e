namespace cpp skein.load

service Load {
  binary echo(1: binary data)
  // Comes before the call that its client makes next.
  oneway void note(1: i32 number)
  // The sum of this connection's notes since it was asked last.
  i64 noted()
}
