// Marks the names that Skein's libraries show to programs.
#ifndef SKEIN_EXPORT_H_
#define SKEIN_EXPORT_H_

#define SKEIN_EXPORT __attribute__((visibility("default")))
// Of a class inside an exported one, which would be exported with it.
#define SKEIN_PRIVATE __attribute__((visibility("hidden")))

#endif  // SKEIN_EXPORT_H_
