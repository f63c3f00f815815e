#include "tools/skein/program/elf_file.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

// This program's own header, by the link editor.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;  // NOLINT

namespace skein::program {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

absl::string_view Part(absl::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.substr(offset, size);
}

// The `index`th of a table whose entries are `entry_size` bytes apart.
template <typename Entry>
std::optional<Entry> EntryOf(absl::string_view bytes, uint64_t table, uint64_t entry_size, uint64_t index) {
  if (entry_size < sizeof(Entry) || index > bytes.size() / entry_size || table > bytes.size()) return std::nullopt;
  const absl::string_view part = Part(bytes, table + index * entry_size, sizeof(Entry));
  if (part.empty()) return std::nullopt;
  Entry entry;
  std::memcpy(&entry, part.data(), sizeof(Entry));
  return entry;
}

absl::string_view TextAt(absl::string_view strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const absl::string_view text = strings.substr(offset);
  return text.substr(0, text.find('\0'));
}

bool IsNative(const Header& header) {
  return std::memcmp(header.e_ident, __ehdr_start.e_ident, EI_DATA + 1) == 0 &&  // class and byte order
         header.e_machine == __ehdr_start.e_machine;
}

// A symbol of this name that is not another object's.
bool HasSymbol(absl::string_view bytes, const Section& table, const Section& strings_section, absl::string_view name) {
  const absl::string_view symbols = Part(bytes, table.sh_offset, table.sh_size);
  const absl::string_view strings = Part(bytes, strings_section.sh_offset, strings_section.sh_size);
  for (uint64_t i = 0; i < symbols.size() / sizeof(Symbol); ++i) {
    const std::optional<Symbol> symbol = EntryOf<Symbol>(symbols, 0, sizeof(Symbol), i);
    if (symbol->st_shndx != SHN_UNDEF && TextAt(strings, symbol->st_name) == name) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<ElfFile> ElfFile::Open(const std::string& path) {
  absl::StatusOr<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const absl::string_view bytes = file->bytes();
  if (!absl::StartsWith(bytes, ELFMAG)) return absl::InvalidArgumentError(absl::StrCat(path, " is no ELF file"));
  ElfFile elf(*std::move(file));
  const std::optional<Header> header = EntryOf<Header>(bytes, 0, sizeof(Header), 0);
  if (!header.has_value() || !IsNative(*header)) return elf;
  elf.native_ = true;
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = EntryOf<Segment>(bytes, header->e_phoff, header->e_phentsize, i);
    if (!segment.has_value()) break;
    if (segment->p_type == PT_INTERP)
      elf.interpreter_ = std::string(TextAt(Part(bytes, segment->p_offset, segment->p_filesz), 0));
  }
  return elf;
}

bool ElfFile::Defines(absl::string_view symbol) const {
  const absl::string_view bytes = file_.bytes();
  const std::optional<Header> header = EntryOf<Header>(bytes, 0, sizeof(Header), 0);
  if (!native_ || !header.has_value()) return false;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto table = EntryOf<Section>(bytes, header->e_shoff, header->e_shentsize, i);
    if (!table.has_value()) break;
    if (table->sh_type != SHT_DYNSYM && table->sh_type != SHT_SYMTAB) continue;
    const auto strings = EntryOf<Section>(bytes, header->e_shoff, header->e_shentsize, table->sh_link);
    if (strings.has_value() && HasSymbol(bytes, *table, *strings, symbol)) return true;
  }
  return false;
}

bool ElfFile::Contains(absl::string_view text) const {
  return memmem(file_.bytes().data(), file_.bytes().size(), text.data(), text.size()) != nullptr;
}

std::string OwnInterpreter() {
  std::string interpreter;
  // The first object is the program.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        for (const Segment* part = info->dlpi_phdr; part != info->dlpi_phdr + info->dlpi_phnum; ++part) {
          if (part->p_type != PT_INTERP) continue;
          // NOLINTNEXTLINE(performance-no-int-to-ptr): it comes as a number
          *static_cast<std::string*>(found) = reinterpret_cast<const char*>(info->dlpi_addr + part->p_vaddr);
        }
        return 1;
      },
      &interpreter);
  return interpreter;
}

}  // namespace skein::program
