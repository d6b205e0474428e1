// File: formats.h. Schedules on disk: JSON, text, torch's CSV tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/schedule.h"

namespace penstock {

enum class Format : std::uint8_t { Json, Text, TorchCompute, TorchComms };
std::string_view name(Format format);  // "json", "text", "torch-compute", "torch-comms"
std::optional<Format> parse_format(std::string_view text);

// By content, not by file name: '{' opens JSON, "0:" text, a torch cell CSV (comms when any cell
// sends, receives or unshards). Throws Error when it is none of them.
Format detect_format(std::string_view content, const std::string& where);

// Reads a schedule; throws Error with every problem of the *file* (place, what, hint). The schedule
// itself may still be wrong: call check(). `where` is the file's name for messages.
Schedule read_schedule(std::string_view content, const std::string& where,
                       std::optional<Format> format = std::nullopt);

// Throws Error when the format cannot hold the schedule (slices or two routes in a torch table).
std::string write_schedule(const Schedule& schedule, Format format);

// A torch pipelining table with its blank cells, so that torch-to-torch conversion is the identity.
// torch's own lowering consumes blanks as steps; a Schedule drops them.
struct TorchTable {
  std::vector<std::vector<std::string>> rows;  // cells, "" = blank
  bool operator==(const TorchTable&) const = default;
};
TorchTable read_torch(std::string_view csv, const std::string& where);
std::string write_torch(const TorchTable& table);
// compute -> comms by torch's rule (_add_send_recv), blanks consumed as steps.
TorchTable add_send_recv(const TorchTable& compute);

// text: one line per actor, torch's spelling; "(0F1;7B3)" is a pair. Stage s sits on the actor
// whose line runs it. The natural form for tests:
//   parse("0: 0F0 0F1 0B0 0B1\n1: 1F0 1B0 1F1 1B1")
Schedule parse(std::string_view text);

}  // namespace penstock
