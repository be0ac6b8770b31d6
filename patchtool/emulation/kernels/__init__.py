"""CPU references for the kernels that upstream calls, written from their contracts: token-serial and exact."""
