// Without a dynamic linker, nothing is preloaded.
#include <unistd.h>

int main() { return write(STDOUT_FILENO, "static\n", 7) == 7 ? 0 : 1; }
