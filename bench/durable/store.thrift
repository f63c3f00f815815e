namespace cpp skein.bench

// Records in the server's memory. Both kinds of writes are the same: one is waited for until it is executed.
service BenchStore {
  binary get(1: i64 key)
  void put(1: i64 key, 2: binary value)
  oneway void put_safely(1: i64 key, 2: binary value)
}
