import itertools
import torch
from torch import nn

torch.manual_seed(2)

VIS, HID = 6, 4
vis_states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=VIS)))
all_states = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=VIS + HID)))

score = 1.2 * vis_states[:, 0] * vis_states[:, 1] * vis_states[:, 2]
score = score + 0.8 * vis_states[:, 3] * vis_states[:, 4] - 0.6 * vis_states[:, 5]
data_prob = torch.softmax(score, 0)


class BoltzmannMachine(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Parameter(0.05 * torch.randn(VIS + HID))
        self.weight = nn.Parameter(0.3 * torch.randn(VIS, HID))

    def energy(self, spins):
        v, h = spins[:, :VIS], spins[:, VIS:]
        return spins @ self.linear + ((v @ self.weight) * h).sum(1)

    def effective_field(self, v):
        return self.linear[VIS:] + v @ self.weight

    def complete(self, v):
        hidden = torch.tanh(-self.effective_field(v)).detach()
        return torch.cat([v, hidden], dim=1)

    def objective(self, observed, model_spins):
        return self.energy(self.complete(observed)).mean() - self.energy(model_spins).mean()

    @torch.no_grad()
    def draw(self, n):
        p = torch.softmax(-self.energy(all_states), 0)
        return all_states[torch.multinomial(p, n, replacement=True)]

    @torch.no_grad()
    def visible_prob(self):
        f = self.effective_field(vis_states)
        logit = -(vis_states @ self.linear[:VIS]) + torch.log(2 * torch.cosh(f)).sum(1)
        return torch.softmax(logit, 0)


def kl(model):
    return (data_prob * (data_prob.log() - model.visible_prob().log())).sum().item()


model = BoltzmannMachine()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 4000)
print(f"start kl {kl(model):.4f}")
for step in range(4000):
    observed = vis_states[torch.multinomial(data_prob, 512, replacement=True)]
    loss = model.objective(observed, model.draw(512))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if (step + 1) % 1000 == 0:
        print(f"step {step + 1} objective {loss.item():.4f} kl {kl(model):.4f}")

draws = model.draw(20000)
print(f"kl {kl(model):.4f} pair data {(data_prob * vis_states[:, 3] * vis_states[:, 4]).sum():.3f} "
      f"model {(draws[:, 3] * draws[:, 4]).mean():.3f} weight norm {model.weight.norm().item():.3f}")
