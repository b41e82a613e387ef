import torch
import torch.nn as nn


class ReversibleBlock(nn.Module):
    def __init__(self, f_block, g_block):
        super().__init__()
        self.f_block, self.g_block = f_block, g_block

    def forward(self, x):
        x1, x2 = torch.chunk(x, 2, dim=1)
        with torch.no_grad():
            y1 = x1 + self.f_block(x2)
            y2 = x2 + self.g_block(y1)
        return torch.cat([y1, y2], dim=1)

    def backward_pass(self, y, dy):
        y1, y2 = torch.chunk(y, 2, dim=1)
        dy1, dy2 = torch.chunk(dy, 2, dim=1)
        y1 = y1.detach().requires_grad_()
        with torch.enable_grad():
            gy1 = self.g_block(y1)
            gy1.backward(dy2)
        x2 = (y2 - gy1).detach().requires_grad_()
        dx1 = dy1 + y1.grad
        with torch.enable_grad():
            fx2 = self.f_block(x2)
            fx2.backward(dx1)
        x1 = (y1 - fx2).detach()
        return torch.cat([x1, x2.detach()], dim=1), torch.cat([dx1, dy2 + x2.grad], dim=1)


class _ReversibleModuleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, reversible_blocks):
        for block in reversible_blocks:
            x = block(x)
        ctx.y = x.detach()
        ctx.reversible_blocks = reversible_blocks
        return x

    @staticmethod
    def backward(ctx, dy):
        y = ctx.y
        for block in reversed(ctx.reversible_blocks):
            y, dy = block.backward_pass(y, dy)
        return dy, None


class ReversibleSequence(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.reversible_blocks = nn.ModuleList(blocks)

    def forward(self, x):
        if not x.requires_grad:
            x = x.detach().requires_grad_()
        return _ReversibleModuleFunction.apply(x, self.reversible_blocks)


def mlp(dim):
    return nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, dim))


torch.manual_seed(0)
x = torch.randn(2000, 8)
y = (x[:, 0] * x[:, 1] + x[:, 4] * x[:, 5] > 0).long()
model = nn.Sequential(ReversibleSequence([ReversibleBlock(mlp(4), mlp(4)) for _ in range(3)]), nn.Linear(8, 2))
start = [p.detach().clone() for p in model[0].parameters()]
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(20):
    total = 0.0
    for idx in torch.randperm(len(x)).split(50):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        acc = (model(x).argmax(1) == y).float().mean()
        print(f"epoch {epoch + 1} loss {total / 40:.4f} acc {acc:.3f}")
moved = sum((p.detach() - s).abs().sum().item() for p, s in zip(model[0].parameters(), start))
print(f"reversible blocks moved by {moved:.3f}")
