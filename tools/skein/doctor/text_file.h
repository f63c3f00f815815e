// The small files by which the kernel tells of itself.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_TEXT_FILE_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_TEXT_FILE_H_

#include <string>
#include <vector>

namespace skein::doctor {

// Empty where there is no such file, or none that may be read.
std::string ReadText(const std::string& path);

// Names in a folder, sorted; none where there is no such folder.
std::vector<std::string> NamesIn(const std::string& folder);

}  // namespace skein::doctor

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_TEXT_FILE_H_
