// File: kineto.h. A step that PyTorch ran, from the traces that its profiler wrote.
//
// torch's pipeline runtime marks each action of a rank, "PP:2F0", and its profiler (Kineto) writes
// one Chrome trace per rank (torch/distributed/pipelining/schedules.py,
// _get_profiler_function_name; torch.profiler's export_chrome_trace). Only these marks and
// "ProfilerStep#7" are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/costs.h"
#include "penstock/error.h"
#include "penstock/op.h"
#include "penstock/schedule.h"
#include "penstock/timeline.h"

namespace penstock {

// What one mark covers: an op, both ops of a pair, or a stage's gradient reduction.
struct KinetoEvent {
  std::vector<Op> ops = {};  // empty for a reduction
  std::int32_t reduced_stage = -1;
  Nanoseconds start = 0;  // on the rank's clock, since 1970
  Nanoseconds end = 0;
  bool operator==(const KinetoEvent&) const = default;
};

struct KinetoStep {
  std::int32_t number = 0;               // of ProfilerStep#; without such marks they count from 0
  std::vector<KinetoEvent> events = {};  // in order of time
  bool complete = false;                 // runs every op that the trace has, each once
};

// One rank's trace.
struct KinetoRank {
  std::string where;             // the file's name
  std::int32_t rank = -1;        // as torch numbers them; -1: the file does not say
  std::int32_t last_stage = -1;  // the highest that an op or a message names
  bool host_times = false;       // of a GPU's rank: the device marks do not cover every op
  std::vector<KinetoStep> steps = {};
};

// Times are those of the device's marks where they cover every op, else the host's. Until 2024
// torch wrote B for the input gradient and BW for the whole: that is what B means in a trace with
// BW, or with W and no I. Throws Error with every problem of the file, at most 100: not JSON, no
// mark, marks that overlap by more than a microsecond. Thread-safe.
KinetoRank read_kineto(std::string_view json, const std::string& where);

struct ImportOptions {
  std::optional<std::int32_t> step;  // its number; default: the last that every rank has complete
  // Shift the ranks' clocks forwards, by as little as does, so that no op starts before its input
  // is there.
  bool align = false;
};

struct ImportedStep {
  Timeline timeline;           // source Imported; its name is empty
  Schedule schedule;           // the order that ran
  std::vector<Problem> notes;  // what a reader should know: clocks that differ, host times
};

// One step of a run of which `ranks` are all the pipeline's ranks (of one data-parallel replica),
// in any order: actors are numbered by rank, or as given where a file does not say its rank. A
// message is taken to be under way from its producer's end to its consumer's start, and to have no
// size. Throws Error: a rank is missing or there twice, no such step, the ops are no schedule.
// Thread-safe.
ImportedStep import_step(std::vector<KinetoRank> ranks, const ImportOptions& options = {});

}  // namespace penstock
