// File: files.h. Whole files in and out, with messages that name the file.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The content of a regular file (at most 2 GiB), or of standard input for "-". Throws Error{path,
// why}.
std::string read_file(const std::string& path);

// Replaces the file, through a neighbour that is renamed, so that nobody sees half of it; a device,
// a pipe and what a symbolic link leads to are written in place; "-" is standard output. Throws
// RunError{path, why} when it cannot be written.
void write_file(const std::string& path, std::string_view content);

// Creates the folder and its parents if missing. Throws RunError{path, why} when it cannot be
// created or written to: called before a long run, not after it.
void ensure_writable_folder(const std::string& path);

}  // namespace penstock
