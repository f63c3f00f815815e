// Text for people in which others have a part: peers, processes that are asked.
#ifndef SKEIN_CORE_BASE_PRINTABLE_H_
#define SKEIN_CORE_BASE_PRINTABLE_H_

#include <string>

namespace skein {

// What cannot be shown in a line as '?': it moves no cursor, and is valid in every encoding.
inline std::string Printable(std::string text) {
  for (char& letter : text) letter = letter < ' ' || letter > '~' ? '?' : letter;
  return text;
}

}  // namespace skein

#endif  // SKEIN_CORE_BASE_PRINTABLE_H_
