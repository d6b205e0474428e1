# Source this in the project's root before mpirun: what Open MPI needs to run as root, in a
# container, and with more processes than cores. Sourcing is harmless elsewhere; what you have set
# yourself stays.

# `penstock` is the program that was built here, under mpirun too.
[ ! -d build/tools ] || export PATH="$PWD/build/tools:$PATH"
export OMPI_ALLOW_RUN_AS_ROOT="${OMPI_ALLOW_RUN_AS_ROOT-1}"
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM-1}"
export OMPI_MCA_rmaps_base_oversubscribe="${OMPI_MCA_rmaps_base_oversubscribe-1}"
export OMPI_MCA_hwloc_base_binding_policy="${OMPI_MCA_hwloc_base_binding_policy-none}"
export OMPI_MCA_pml="${OMPI_MCA_pml-ob1}"
export OMPI_MCA_btl="${OMPI_MCA_btl-vader,self}"
# penstock says what went wrong; mpirun need not add that a process failed.
export OMPI_MCA_orte_execute_quiet="${OMPI_MCA_orte_execute_quiet-1}"
# One thread of BLAS per process: the processes are the parallelism.
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS-1}"
