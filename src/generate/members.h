// File: members.h. The generators, one file each; catalogue.cc lists them.
//
// Each is a pure function of its options, called by generate() with sizes of at least 1, known
// option keys, one slice unless they take tokens, and costs where the row says so.
#pragma once

#include "penstock/generate.h"

namespace penstock {

Schedule gpipe(const GenerateOptions& options);
Schedule one_f_one_b(const GenerateOptions& options);
Schedule eager_1f1b(const GenerateOptions& options);
Schedule interleaved_1f1b(const GenerateOptions& options);
Schedule looped_bfs(const GenerateOptions& options);
Schedule zb_h1(const GenerateOptions& options);
Schedule zb_h2(const GenerateOptions& options);
Schedule zb_1p(const GenerateOptions& options);
Schedule zb_2p(const GenerateOptions& options);
Schedule interleaved_zb1p(const GenerateOptions& options);
Schedule zb_v(const GenerateOptions& options);
Schedule v_half(const GenerateOptions& options);
Schedule v_min(const GenerateOptions& options);
Schedule one_f_one_b_v(const GenerateOptions& options);
Schedule dualpipe(const GenerateOptions& options);
Schedule dualpipev(const GenerateOptions& options);
Schedule chimera(const GenerateOptions& options);
Schedule bitpipe(const GenerateOptions& options);
Schedule hanayo(const GenerateOptions& options);
Schedule deepspeed_1f1b(const GenerateOptions& options);
Schedule seq1f1b(const GenerateOptions& options);
Schedule terapipe(const GenerateOptions& options);
Schedule forward_only(const GenerateOptions& options);
Schedule local(const GenerateOptions& options);
Schedule pipedream_2bw(const GenerateOptions& options);

}  // namespace penstock
