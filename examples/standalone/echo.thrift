namespace cpp standalone

service Echo {
  string say(1: string text)
}
