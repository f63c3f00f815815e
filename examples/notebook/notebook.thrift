namespace cpp skein.examples

service Notebook {
  oneway void note(1: string line)
  // Gives back the line's number.
  i64 append(1: string line)
  i64 lines()
}
