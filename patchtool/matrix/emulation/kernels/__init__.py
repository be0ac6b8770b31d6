"""CPU references for the kernels that upstream calls on an NPU, written from their contracts: token-serial and exact."""
