// SPDX-License-Identifier: BSD-3-Clause
// How MPI starts where no launcher of its own has started the process: by torch's store.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace weft_torch
{

/** Whether MPI learns from its launcher (PMIx: mpirun, srun) which rank this is. TORCH_WEFT_START
 * "launcher" or "store" decides it; without it a process that torchrun has started has none, even if
 * torchrun itself was started by one. mpirun sets torchrun's variables, too, but calls the run by the
 * name of its job. */
bool has_launcher();

/** Have MPI start as `rank` of `size` by way of the store; if it has been started before, it keeps
 * its ranks. */
void set_bootstrap(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size);

} // namespace weft_torch
