import torch
import torch.nn as nn


class GradSampleModule(nn.Module):
    def __init__(self, module):
        super().__init__()
        self._module = module
        for layer in self.linear_layers():
            layer.activations = []
            layer.register_forward_hook(self.capture_activations)
            layer.register_full_backward_hook(self.capture_backprops)

    def linear_layers(self):
        return [m for m in self._module.modules() if isinstance(m, nn.Linear)]

    def capture_activations(self, layer, forward_input, _forward_output):
        if not layer.training:
            return
        layer.activations.append(forward_input[0].detach())

    def capture_backprops(self, layer, _grad_input, grad_output):
        activation = layer.activations.pop()
        backprop = grad_output[0] * len(activation)
        layer.weight.grad_sample = torch.einsum("ni,nj->nij", backprop, activation)
        layer.bias.grad_sample = backprop

    def forward(self, x):
        return self._module(x)


def dp_step(model, optimizer, max_norm=1.0, noise=0.3):
    params = [p for p in model.parameters()]
    n = len(params[0].grad_sample)
    norms = sum(p.grad_sample.flatten(1).pow(2).sum(1) for p in params).sqrt()
    clip = (max_norm / (norms + 1e-6)).clamp(max=1.0)
    for p in params:
        summed = torch.einsum("n,n...->...", clip, p.grad_sample)
        p.grad = (summed + noise * max_norm * torch.randn_like(summed)) / n
        p.grad_sample = None
    optimizer.step()


def evaluate(model, x, y, batch_size=500):
    hits = 0
    with torch.no_grad():
        for k in range(0, len(x), batch_size):
            hits += (model(x[k:k + batch_size]).argmax(1) == y[k:k + batch_size]).sum().item()
    return hits / len(x)


torch.manual_seed(0)
teacher = nn.Linear(40, 4)
x, x_test = torch.randn(3000, 40), torch.randn(4000, 40)
with torch.no_grad():
    y, y_test = teacher(x).argmax(1), teacher(x_test).argmax(1)
model = GradSampleModule(nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(len(x)).split(100):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        dp_step(model, optimizer)
    acc = evaluate(model, x_test, y_test)
    held = sum(a.numel() * 4 for layer in model.linear_layers() for a in layer.activations)
    print(f"epoch {epoch} loss {loss.item():.4f} test acc {acc:.3f} activations held {held / 2 ** 20:.1f} MiB")
