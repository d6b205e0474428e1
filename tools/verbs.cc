#include "verbs.h"

namespace penstock {
namespace {

constexpr Option kSizes[] = {
    {"actors", "P", "pipeline actors (default 1)"},
    {"chunks", "V", "stages per actor (default 1)"},
    {"microbatches", "M", "microbatches per step (default 1: one that passes through)"},
    {"slices", "K", "token slices per microbatch (default 1)"},
    {"option", "k=v", "an option of the generator, as group=4; repeats", true},
};
constexpr Option kFrom[] = {
    {"from", "FORMAT",
     "format of the input: json, text, sailsg, torch-compute, torch-comms, torch-fsdp, torch-old "
     "(B is the input gradient, BW the whole); default: by content"},
};
constexpr Option kCosts[] = {
    {"costs", "LIST",
     "\"F=1,B=2,I=1,W=1,latency=0\": ms per stage op and per hop; also bytes=, "
     "bandwidth= (bytes/s), R=, update=, reduce=, norm=, overlap= (ms), activation=, weight=, "
     "kept=, left= (bytes; of an activation: from F to R, from I to W)"},
    {"costs-file", "FILE", "costs per stage, as `penstock profile -o` writes them"},
    {"per-actor", "",
     "the costs are of an actor's whole share of the model and of whole microbatches: chunks and "
     "slices take their part, so that schedules compare"},
};
constexpr Option kJson[] = {{"json", "", "print JSON on standard output"}};
constexpr Option kJsonTo[] = {{"json", "FILE", "write JSON to FILE; - is standard output"}};
constexpr Option kHtml[] = {{"html", "FILE", "write a self-contained HTML report"}};
constexpr Option kSet[] = {
    {"set", "key=value",
     "override a key of CONFIG, as parallel.pipeline=4; repeats. schedule.name and schedule.file "
     "replace each other; paths are relative to CONFIG's folder",
     true}};
constexpr Option kGenerate[] = {
    {"output,o", "FILE", "write to FILE instead of standard output"},
    {"to", "FORMAT",
     "json, text, sailsg, torch-compute, torch-comms, torch-fsdp (as torch runs it with sharded "
     "parameters); default: by the ending of -o (.json, .txt, .csv), else json"},
};
constexpr Option kCheck[] = {
    {"transports", "",
     "also say which transports each lowering policy's sends and receives get "
     "through: waiting for every transfer (rendezvous), for neighbours together "
     "(grouped), queues without tags (pair_fifo, edge_fifo, channel_fifo)"},
    {"lowering", "POLICY", "of linear, paired, deferred, naive this alone, and who waits for whom"},
};
constexpr Option kConvert[] = {
    {"output,o", "FILE", "write to FILE instead of standard output"},
    {"to", "FORMAT",
     "json, text, sailsg, torch-compute, torch-comms, torch-fsdp (as torch runs it with sharded "
     "parameters), of a run also trace; default: by the ending of -o (.json, .txt, .csv, where a "
     "torch table keeps its flavour), else json, of a run trace"},
    {"merge-backward", "", "join each I to the W right behind it: B"},
};
constexpr Option kConvertFrom[] = {
    {"from", "FORMAT",
     "format of the input: json, text, sailsg, torch-compute, torch-comms, torch-fsdp, torch-old "
     "(B is the input gradient, BW the whole); default: by content. kineto: IN.. are the traces "
     "that torch's profiler wrote of one run, one per rank; sailsg with --to trace: with the "
     "nodes' times"},
};
constexpr Option kReportFrom[] = {
    {"from", "FORMAT",
     "TRACE.. is no trace of Penstock's but: kineto, the traces that torch's profiler wrote of one "
     "run, one per rank; sailsg, scheduled nodes with their times"},
};
constexpr Option kRun[] = {
    {"step", "N", "the step of a run (default: the last that every rank has complete)"},
    {"align", "",
     "shift the clocks of a run's ranks so that no op starts before its input is there"},
};
constexpr Option kDraw[] = {
    {"svg", "FILE", "write an SVG instead of drawing in the terminal"},
    {"columns", "N", "width in characters (default 80)"},
};
constexpr Option kSimulate[] = {
    {"schedule", "NAME",
     "generate the schedule; a,b:chunks=2,c:variant=x compares several, each with what it asks "
     "for"},
    {"sweep", "LIST",
     "compare at several numbers of microbatches: 8,16,32, or 4:64 (doubling), or 4:64:4"},
    {"p2p", "MODE", "async (default), single_stream, blocking"},
    {"lowering", "POLICY",
     "where sends and receives stand: linear (default), paired (default when "
     "blocking), deferred, naive"},
    {"synchronization", "MODE",
     "of the optimizer: flush (default), post_validation (updates are verified in the next step, "
     "which need not wait); overrides CONFIG"},
    {"jitter", "X", "lengthen each op by a random share of up to X"},
    {"seed", "N", "of the jitter (default 0)"},
    {"slow-down", "A=X", "actor A takes X times as long; repeats", true},
    {"trace", "FILE", "write a trace that Perfetto opens"},
    {"csv", "FILE", "write a row per actor, or per schedule where several are compared"},
    {"explain", "ACTOR", "say why each op of this actor started when it did"},
};
constexpr Option kProfile[] = {
    {"output,o", "FILE", "write the costs to FILE instead of standard output"},
    {"steps", "N", "measured steps (default 5, after 3 that are not)"},
};
constexpr Option kTrain[] = {
    {"out", "DIR",
     "write summary.json, metrics.jsonl, measured.trace.json, predicted.trace.json "
     "and report.html into DIR"},
};
constexpr Option kCompare[] = {{"csv", "FILE", "write a row per op; - is standard output"}};
constexpr Option kReport[] = {
    {"csv", "FILE", "write a row per trace and actor; - is standard output"},
    {"explain", "ACTOR", "say why each op of this actor started when it did"},
};

const Verb kVerbs[] = {
    {"list",
     "schedules|models|clusters|configs",
     1,
     1,
     "What there is: built-in schedules, and the files under configs/",
     {kJson},
     &run_list,
     "penstock list schedules"},
    {"generate",
     "NAME",
     1,
     1,
     "Write a built-in schedule to a file",
     {kSizes, kCosts, kGenerate},
     &run_generate,
     "penstock generate NAME --actors 4 --microbatches 8 --to text"},
    {"check",
     "FILE",
     1,
     -1,
     "Report every problem of schedule files",
     {kCheck, kFrom, kJson},
     &run_check,
     "penstock check mine.json"},
    {"convert",
     "IN",
     1,
     -1,
     "Rewrite a schedule in another format; read a run of torch's",
     {kConvert, kConvertFrom, kRun},
     &run_convert,
     "penstock convert torch.csv -o mine.json"},
    {"draw",
     "FILE|NAME",
     1,
     1,
     "A chart of a schedule in the terminal",
     {kSizes, kFrom, kCosts, kDraw},
     &run_draw,
     "penstock draw NAME --actors 4 --microbatches 8"},
    {"simulate",
     "CONFIG|SCHEDULE",
     0,
     1,
     "Predict time, bubbles, memory, and why each actor idles",
     {kSizes, kSimulate, kCosts, kSet, kFrom, kJsonTo, kHtml},
     &run_simulate,
     "penstock simulate --schedule NAME --actors 8 --microbatches 32 --costs F=1,B=2"},
    {"profile",
     "CONFIG",
     1,
     1,
     "Measure per-stage op costs on this machine (under mpirun)",
     {kProfile, kSet},
     &run_profile,
     "mpirun -n 2 penstock profile configs/training/timing-p2.json -o costs.json"},
    {"train",
     "CONFIG",
     1,
     1,
     "Train for real and compare with the prediction (under mpirun)",
     {kTrain, kSet},
     &run_train,
     "mpirun -n 4 penstock train configs/training/tiny-gpt.json --out out/tiny"},
    {"report",
     "TRACE",
     1,
     -1,
     "Show traces: utilisation, idle causes, memory",
     {kReport, kReportFrom, kRun, kJsonTo, kHtml},
     &run_report,
     "penstock report out/tiny/measured.trace.json"},
    {"compare",
     "A.trace.json B.trace.json",
     2,
     2,
     "Two traces side by side; A is the reference",
     {kCompare, kJsonTo, kHtml},
     &run_compare,
     "penstock compare out/tiny/measured.trace.json out/tiny/predicted.trace.json"},
    {"version",
     "",
     0,
     0,
     "The version, and what it was built with and found",
     {},
     &run_version,
     "penstock version"},
};

}  // namespace

std::span<const Verb> verbs() {
  return kVerbs;
}

}  // namespace penstock
