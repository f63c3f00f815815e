// The notebook service: lines in a file, each written once, also when its call is executed again after a crash.
#ifndef SKEIN_EXAMPLES_NOTEBOOK_BOOK_H_
#define SKEIN_EXAMPLES_NOTEBOOK_BOOK_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "examples/notebook/Notebook.h"

namespace skein::examples {

// Each line of the file says of which call it is: "<client>/<sequence> <text>". As the calls of a client come in order,
// its last one says which are there. The file is for the service alone: who knows a client's name can be that client.
class Book final : public NotebookIf {
 public:
  // Exits when the file cannot be used.
  explicit Book(const std::string& path);

  void note(const std::string& line) override { append(line); }
  int64_t append(const std::string& line) override;
  int64_t lines() override;

 private:
  struct Last {
    uint64_t sequence = 0;
    int64_t number = 0;
  };
  void ReadBack(const std::string& path);

  int file_ = -1;
  std::mutex mu_;
  int64_t lines_ = 0;
  std::map<std::string, Last> last_;  // by client
};

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_NOTEBOOK_BOOK_H_
