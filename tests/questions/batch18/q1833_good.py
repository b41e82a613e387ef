import torch
from torch import nn

torch.manual_seed(0)
n_classes = 4
prototypes = torch.randn(n_classes, 3, 8, 8)


def load_batch(n=32):
    target = torch.randint(0, n_classes, (n,))
    return prototypes[target] + 2.0 * torch.randn(n, 3, 8, 8), target


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    def _grad_norm(self):
        norms = [p.grad.norm(2) for group in self.param_groups for p in group["params"] if p.grad is not None]
        return torch.stack(norms).norm(2)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        scale = self.param_groups[0]["rho"] / (self._grad_norm() + 1e-12)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(16 * 16, n_classes)
)
criterion = nn.CrossEntropyLoss()
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.02, momentum=0.9)
for step in range(150):
    images, target = load_batch()
    output = model(images)
    loss = criterion(output, target)
    loss.backward()
    optimizer.first_step(zero_grad=True)

    criterion(model(images), target).backward()
    optimizer.second_step(zero_grad=True)

    acc1 = (output.argmax(1) == target).float().mean().item()
    if (step + 1) % 50 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f}  acc1 {acc1:.3f}")

with torch.no_grad():
    images, target = load_batch(500)
    print(f"test acc1 {(model(images).argmax(1) == target).float().mean().item():.3f}")
