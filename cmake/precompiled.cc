int main() {}  // A target has a source; of this one the header is wanted (skein.cmake).
