// File: tables.h. Reference orders from tests/data/orders.
#pragma once

#include <string>
#include <vector>

#include "penstock/program.h"
#include "penstock/schedule.h"

namespace penstock {

using Row = std::vector<std::string>;

// The cells of a CSV file, blanks left out.
std::vector<Row> read_rows(const std::string& file);

// Each actor's order in the cells' spelling: "0F1", "(0F1;7B3)OVERLAP_F_B".
std::vector<Row> rows_of(const Schedule& schedule);

// A compute or a transfer in torch's cells: "0F3", "0SEND_F3" names the stage that gave, "1RECV_F3"
// the one that takes.
std::string cell_of(const Program& program, const Action& action);

// A pair is one cell for torch and two actions for us.
std::vector<Row> split_pairs(std::vector<Row> rows);

// A one-route schedule from compute cells: as many stages and microbatches as the cells name, each
// stage where its first cell is.
Schedule schedule_of(const std::vector<Row>& rows);

// The same from text, one line per actor, cells separated by spaces: "0F0 0B0\n1F0 1B0".
Schedule schedule_of(const std::string& text);

}  // namespace penstock
