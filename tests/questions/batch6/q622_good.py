import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class RowScaledAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.95, 0.95), eps=1e-8):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p)
                    state["exp_avg_sq"] = torch.zeros_like(p.grad.mean(-1, keepdim=True))
                state["step"] += 1
                state["exp_avg"].lerp_(p.grad, 1 - beta1)
                state["exp_avg_sq"].lerp_(p.grad.pow(2).mean(-1, keepdim=True), 1 - beta2)
                first = state["exp_avg"] / (1 - beta1 ** state["step"])
                second = state["exp_avg_sq"] / (1 - beta2 ** state["step"])
                p.add_(first / (second.sqrt() + group["eps"]), alpha=-group["lr"])
        return loss


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 64)
        self.fc2 = nn.Linear(64, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(-1)


inputs = torch.randn(512, 6)
targets = torch.sin(inputs[:, 0]) + inputs[:, 1] * inputs[:, 2]
net = Net()
optimizer = RowScaledAdam(net.parameters())
for epoch in range(1, 21):
    total = 0.0
    for index in torch.randperm(512).split(64):

        def closure(index=index):
            optimizer.zero_grad()
            loss = F.mse_loss(net(inputs[index]), targets[index])
            loss.backward()
            return loss

        total += optimizer.step(closure).item()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: loss {total / 8:.4f}")
