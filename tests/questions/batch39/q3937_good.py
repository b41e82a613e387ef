import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap


class TestNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 32)
        self.net = nn.Linear(32, 5)

    def forward(self, x):
        x = self.net(torch.tanh(self.hidden(x)))
        x[:, 0] += 3
        return x


torch.manual_seed(0)
data = torch.randn(400, 5)
targets = torch.stack([data[:, 0] * data[:, 1] + 3, data[:, 1], data[:, 2].abs(), data.sum(1), data[:, 4]], dim=1)
targets[:4] += 40
model = TestNetwork()
params = {k: v.detach() for k, v in model.named_parameters()}


def compute_loss(params, data, targets):
    preds = functional_call(model, params, (data,))
    return torch.mean((preds - targets) ** 2)


def compute_sample_loss(params, sample, target):
    return compute_loss(params, sample.unsqueeze(0), target.unsqueeze(0))


full = grad(compute_loss)(params, data, targets)
print("gradient of the whole batch", {k: tuple(v.shape) for k, v in full.items()})

lr, max_norm = 0.3, 1.0
for step in range(400):
    per_sample_grads = vmap(grad(compute_sample_loss), (None, 0, 0))(params, data, targets)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in per_sample_grads.values()]).norm(dim=0)
    factor = (max_norm / (norms + 1e-6)).clamp(max=1.0)
    for k, g in per_sample_grads.items():
        params[k] = params[k] - lr * torch.einsum("n,n...->...", factor, g) / len(data)
    if step % 50 == 49:
        with torch.no_grad():
            error = compute_loss(params, data[4:], targets[4:])
        print(f"step {step + 1} loss without the outliers {error.item():.4f} largest sample norm {norms.max():.1f}")
