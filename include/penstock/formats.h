// File: formats.h. Schedules on disk: JSON, text, torch's CSV tables, sail-sg's scheduled nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/program.h"
#include "penstock/schedule.h"

namespace penstock {

// TorchOld is read, never written: torch's tables until 2024, where B is the input gradient only
// and BW the full backward.
// TorchFsdp is what torch's runtime executes when parameters are sharded.
enum class Format : std::uint8_t {
  Json,
  Text,
  SailSg,
  TorchCompute,
  TorchComms,
  TorchFsdp,
  TorchOld
};
std::vector<Format> formats();  // all, in this order
// "json", "text", "sailsg", "torch-compute", "torch-comms", "torch-fsdp", "torch-old"
std::string_view name(Format format);
std::optional<Format> parse_format(std::string_view text);
// Whether it is one of torch's tables.
bool is_torch(Format format);

// By content, not by file name: '{' opens JSON, '[' scheduled nodes, "0:" text, a torch cell CSV
// (fsdp when any cell unshards, reshards or reduces, else comms when any sends or receives). Throws
// Error when it is none of them.
Format detect_format(std::string_view content, const std::string& where);

// Reads a schedule; throws Error with every problem of the *file* (place, what, hint). The schedule
// itself may still be wrong: call check(). The sends and receives of a torch table are compared
// with those that its ops need, and dropped. `where` is the file's name for messages.
Schedule read_schedule(std::string_view content, const std::string& where,
                       std::optional<Format> format = std::nullopt);

// The same, named: a schedule without a name, as in text and tables, has that of its file, without
// folder and ending.
Schedule read_named_schedule(std::string_view content, const std::string& where,
                             std::optional<Format> format = std::nullopt);

// What runs where a file says so, too, where it sends and receives: torch's tables with transfers.
// nullopt for all others. The program has no step end. Errors as above.
// REQUIRES: check() finds no fault in the schedule that is read from it.
std::optional<Program> read_program(std::string_view content, const std::string& where,
                                    std::optional<Format> format = std::nullopt);

// Throws Error with the reason when the format cannot hold the schedule: slices in a torch table,
// pairs in scheduled nodes; for all but JSON whatever cannot be derived from the order alone (two
// routes, parts, sizes).
std::string write_schedule(const Schedule& schedule, Format format);

// `content` in another format. Between torch's formats this works on the table, so that blank
// cells stay; from a format to itself it is the identity. `from` as in read_schedule.
std::string convert_schedule(std::string_view content, const std::string& where,
                             std::optional<Format> from, Format to);

// The same with each I joined to the W behind it (merge_backwards, below). Throws Error with the
// reason when a torch table cannot hold the schedule.
std::string convert_merged(std::string_view content, const std::string& where,
                           std::optional<Format> from, Format to);

// A torch pipelining table with its blank cells, so that torch-to-torch conversion is the identity:
// torch's own lowering consumes blanks as steps; a Schedule drops them. Always in torch's current
// grammar (F, I input gradient, W weight gradient, B = I + W), whatever the file was written in.
struct TorchTable {
  std::vector<std::vector<std::string>> rows;  // cells, "" = blank
  bool operator==(const TorchTable&) const = default;
};

// Detect: BW means Old, I means Current; B beside W and neither is ambiguous: an Error that names
// the formats to choose from.
enum class TorchGrammar : std::uint8_t { Detect, Current, Old };

// Rows may differ in length; spaces around cells, \r and blank lines at the end are dropped. Throws
// Error with line and column of every cell that torch would not take.
TorchTable read_torch(std::string_view csv, const std::string& where,
                      TorchGrammar grammar = TorchGrammar::Detect);
std::string write_torch(const TorchTable& table);

// compute -> comms by torch's rule (_add_send_recv), blanks consumed as steps: each send is
// followed at once by its receive on the other actor, so that the rows are cut from one global
// order. UNSHARD, RESHARD and REDUCE_GRAD cells keep their places. Throws Error when the table has
// sends or receives already or its order cannot make progress.
TorchTable add_send_recv(const TorchTable& compute);

// What torch does before that for sharded parameters (FSDP). In front of every cell the next
// `most_active` stages of the row are gathered and the others dropped (_add_unshard_reshard, whose
// default is 3); all are dropped at the end. Blanks go. Throws Error when the table has more than
// computes. REQUIRES: most_active >= 1.
TorchTable add_unshard_reshard(const TorchTable& compute, std::int32_t most_active = 3);
// REDUCE_GRAD behind the last weight gradient (B or W) of every stage (_add_reduce_grad).
TorchTable add_reduce_grad(const TorchTable& table);

// An I and the W of the same stage and microbatch next to it, blanks apart, become B (_merge_bw).
// Blanks go. Throws Error when the table has more than computes.
TorchTable merge_backwards(const TorchTable& compute);

// text: one line per actor, torch's spelling; "(0F1;7B3)" is a pair. Stage s sits on the actor
// whose line runs it. The natural form for tests:
//   parse("0: 0F0 0F1 0B0 0B1\n1: 1F0 1B0 1F1 1B1")
Schedule parse(std::string_view text);

}  // namespace penstock
