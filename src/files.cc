#include "penstock/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unistd.h>

#include "penstock/error.h"

namespace penstock {
namespace {

constexpr std::size_t kLargestFile = std::size_t{2} << 30;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string read_all(std::FILE* file, const std::string& path) {
  std::string content;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file)) {
    content.append(buffer, got);
    if (content.size() > kLargestFile) throw Error(path, "is larger than 2 GiB");
  }
  if (std::ferror(file)) throw Error(path, std::string("cannot be read: ") + std::strerror(errno));
  return content;
}

bool write_all(std::FILE* file, std::string_view content) {
  return std::fwrite(content.data(), 1, content.size(), file) == content.size() &&
         std::fflush(file) == 0;
}

}  // namespace

std::string read_file(const std::string& path) {
  if (path == "-") return read_all(stdin, "standard input");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw Error(path, "is a folder, not a file");
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) throw Error(path, std::string("cannot be read: ") + std::strerror(errno));
  return read_all(file.get(), path);
}

void write_file(const std::string& path, std::string_view content) {
  if (path == "-") {
    if (!write_all(stdout, content)) throw RunError("standard output", "cannot be written");
    return;
  }
  // A device or a pipe (/dev/null, a process substitution) is written in place, and so is what a
  // link leads to (/dev/stdout): renaming would replace the link.
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path, ignored);
  const bool in_place =
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  const std::string target = in_place ? path : path + ".part" + std::to_string(::getpid());
  errno = 0;
  bool written = false;
  {
    const File file(std::fopen(target.c_str(), "wb"));
    written = file && write_all(file.get(), content);
  }
  if (written && !in_place) written = std::rename(target.c_str(), path.c_str()) == 0;
  if (written) return;
  const std::string why = std::strerror(errno);
  if (!in_place) std::remove(target.c_str());
  throw RunError(path, "cannot be written: " + why);
}

void ensure_writable_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw RunError(path, "cannot be created: " + error.message());
  if (!std::filesystem::is_directory(path)) throw RunError(path, "is a file, not a folder");
  // Asking by writing: root passes every permission check, yet a read-only mount still refuses.
  const std::string probe = path + "/.penstock-probe" + std::to_string(::getpid());
  const File file(std::fopen(probe.c_str(), "wb"));
  if (!file) throw RunError(path, std::string("cannot be written to: ") + std::strerror(errno));
  std::remove(probe.c_str());
}

}  // namespace penstock
