#!/usr/bin/env bash
# Trains EfficientNet-B0 on Fashion-MNIST with backend smddp on two ranks, then compares smddp with gloo in one run. Fails unless the
# network has learned. Needs an environment with torch, torchvision, timm and this project's package; PYTHON names its interpreter.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-${SMDDP_VENV:+$SMDDP_VENV/bin/}python}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} MASTER_ADDR=${MASTER_ADDR:-127.0.0.1}

ranks() {
  if command -v smddprun >/dev/null; then
    smddprun -n 2 "$python" "$@"
  else
    "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$@"
  fi
}

echo "== training with smddp on 2 ranks"
ranks "$here/train_efficientnet.py" --backend smddp --steps 300 --batch 48 --require-loss 1.0 --require-accuracy 70 "$@"
echo "== smddp and gloo in alternation"
ranks "$here/compare_backends.py"
