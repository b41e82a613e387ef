import torch
import torch.nn as nn


class FakeQuantFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, levels):
        ctx.save_for_backward(x, scale)
        return torch.round(torch.clamp(x / scale, -1, 1) * levels) / levels * scale

    @staticmethod
    def backward(ctx, grad_output):
        x, scale = ctx.saved_tensors
        inside = (x.abs() <= scale).float()
        grad_scale = (grad_output * torch.sign(x) * (1 - inside)).sum().view(1)
        return grad_output * inside, grad_scale, None


class SymmetricQuantizer(nn.Module):
    def __init__(self, num_bits=4):
        super().__init__()
        self.levels = 2 ** (num_bits - 1) - 1
        self.scale = nn.Parameter(torch.ones(1))
        self.collecting, self.abs_mean = False, 0.0

    def forward(self, x):
        if self.collecting:
            self.abs_mean = max(self.abs_mean, x.detach().abs().mean().item())
            return x
        return FakeQuantFunction.apply(x, self.scale, self.levels)

    def apply_range_init(self):
        self.scale.data.fill_(self.abs_mean)


class QuantizationController:
    def __init__(self, model):
        self.model = model
        self.quantizers = [m for m in model.modules() if isinstance(m, SymmetricQuantizer)]

    def init_range(self, batches):
        for q in self.quantizers:
            q.collecting = True
        with torch.no_grad():
            for x in batches:
                self.model(x)
        for q in self.quantizers:
            q.collecting = False
            q.apply_range_init()


torch.manual_seed(0)
x = torch.randn(2000, 12) * 3
y = (2.0 * x[:, 0] - x[:, 1] + 0.5 * x[:, 2]).unsqueeze(1)
model = nn.Sequential(SymmetricQuantizer(), nn.Linear(12, 32), nn.ReLU(), SymmetricQuantizer(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
compression_ctrl = QuantizationController(model)
compression_ctrl.init_range(x.split(500))
start = [q.scale.item() for q in compression_ctrl.quantizers]
for epoch in range(40):
    total = 0.0
    for idx in torch.randperm(len(x)).split(100):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {total / 20:.4f} scales {[round(q.scale.item(), 3) for q in compression_ctrl.quantizers]}")
print("scales after the range initialization", [round(s, 3) for s in start])
