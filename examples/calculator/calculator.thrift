namespace cpp skein.examples

service Calculator {
  i64 add(1: i64 left, 2: i64 right)
  i64 sum(1: list<i64> numbers)
  // Gives back what it got.
  binary echo(1: binary payload)
}
