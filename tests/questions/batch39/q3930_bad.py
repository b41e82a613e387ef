import time
import torch
import torch.nn as nn


class GradientCollector:
    """collects the per-module gradient norms of one forward and backward pass"""

    def __init__(self, model, closure):
        self.model = model
        self.closure = closure
        self._inputs = {}
        self._fwd_hooks = []
        self._bwd_hooks = []

    def __enter__(self):
        for name, module in self.model.named_modules():
            if isinstance(module, nn.Linear):
                module._name = name
                self._fwd_hooks.append(module.register_forward_hook(self._save_input))
                self._bwd_hooks.append(module.register_full_backward_hook(self._process_grad))
        return self

    def _save_input(self, module, inputs, output):
        self._inputs[module._name] = inputs[0].detach()

    def _process_grad(self, module, grad_in, grad_out):
        a, g = self._inputs.pop(module._name), grad_out[0]
        self.closure(module._name, (a.pow(2).sum(1) * g.pow(2).sum(1)).sqrt())

    def __exit__(self, exc_type, exc, tb):
        for h in self._fwd_hooks:
            h.remove()
        for h in self._bwd_hooks:
            h.remove()
        self._inputs.clear()
        return False


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return x + 0.3 * torch.tanh(self.fc(x))


torch.manual_seed(0)
x = torch.randn(2000, 16)
y = (x[:, :4].sum(1) + x[:, 4] * x[:, 5]).unsqueeze(1)
model = nn.Sequential(*[Residual(16) for _ in range(15)], nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
norms = {}
collector = GradientCollector(model, lambda name, n: norms.__setitem__(name, n.mean().item()))
start, total = time.time(), 0.0
for step in range(600):
    idx = torch.randint(len(x), (32,))
    optimizer.zero_grad()
    with collector:
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 100 == 99:
        print(f"step {step + 1} loss {total / 100:.4f} grad norm of the head {norms['15']:.3f} "
              f"ms per step {(time.time() - start) * 10:.2f}")
        start, total = time.time(), 0.0
