import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class LookSAM:
    def __init__(self, params, base_optimizer, rho=0.1, alpha=0.7, k=5):
        self.params, self.base_optimizer = list(params), base_optimizer
        self.rho, self.alpha, self.k = rho, alpha, k
        self.state = {p: {} for p in self.params}
        self.steps = 0

    @torch.no_grad()
    def grad_norm(self):
        return torch.stack([p.grad.norm() for p in self.params]).norm()

    @torch.no_grad()
    def perturb_weights(self, state_g_key):
        scale = self.rho / (self.grad_norm() + 1e-12)
        for p in self.params:
            self.state[p][state_g_key] = p.grad.clone()
            self.state[p]["e_w"] = p.grad * scale
            p.add_(self.state[p]["e_w"])

    @torch.no_grad()
    def unperturb(self):
        for p in self.params:
            p.sub_(self.state[p]["e_w"])

    @torch.no_grad()
    def compute_gv(self):
        for p in self.params:
            if "old_grad" not in self.state[p]:
                continue
            old_grad = self.state[p]["old_grad"]
            unit = old_grad / (old_grad.norm() + 1e-12)
            self.state[p]["gv"] = p.grad - (p.grad * unit).sum() * unit

    @torch.no_grad()
    def apply_gv(self):
        for p in self.params:
            if "gv" not in self.state[p]:
                continue
            gv = self.state[p]["gv"]
            p.grad.add_(self.alpha * p.grad.norm() / (gv.norm() + 1e-8) * gv)

    def step(self, closure):
        self.base_optimizer.zero_grad()
        loss = closure()
        if self.steps % self.k == 0:
            self.perturb_weights(state_g_key="old_g")
            self.base_optimizer.zero_grad()
            closure()
            self.unperturb()
            self.compute_gv()
        else:
            self.apply_gv()
        self.base_optimizer.step()
        self.steps += 1
        return loss


direction = torch.randn(20, 5)
x_train, x_test = torch.randn(200, 20), torch.randn(2000, 20)
y_train, y_test = (torch.tanh(x_train) @ direction).argmax(1), (torch.tanh(x_test) @ direction).argmax(1)
noisy = torch.rand(200) < 0.15
y_train = torch.where(noisy, torch.randint(0, 5, (200,)), y_train)

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = LookSAM(model.parameters(), torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9))
for step in range(600):
    batch = torch.randint(0, 200, (50,))

    def closure():
        loss = F.cross_entropy(model(x_train[batch]), y_train[batch])
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    if (step + 1) % 150 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f}")

with torch.no_grad():
    logits = model(x_test)
    test_loss = F.cross_entropy(logits, y_test).item()
    accuracy = (logits.argmax(1) == y_test).float().mean().item()
print(f"test loss {test_loss:.3f}, test accuracy {accuracy:.3f}")
print("keys of the optimizer state:", sorted(optimizer.state[optimizer.params[0]]))
