"""PyTorch on SMDDP. Import smdistributed.dataparallel.torch.torch_smddp to register the backend "smddp"."""
