// Takes what others have put into a pipe to wake its reader.
#ifndef SKEIN_CORE_BASE_EMPTY_PIPE_H_
#define SKEIN_CORE_BASE_EMPTY_PIPE_H_

namespace skein {

// Of a pipe that does not block, up to the usual capacity; of an eventfd, its number. Whether there was anything.
bool EmptyPipe(int fd);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_EMPTY_PIPE_H_
