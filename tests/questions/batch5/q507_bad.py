import torch
import torch.nn.functional as F
from torch.distributions import Normal

torch.manual_seed(0)


class ParamStore:
    def __init__(self):
        self.unconstrained = {}
        self.transforms = {}

    def param(self, name, init=None, positive=False):
        if name not in self.unconstrained:
            value = torch.as_tensor(init)
            if positive:
                value = torch.log(torch.expm1(value))
            self.unconstrained[name] = value.clone().requires_grad_(True)
            self.transforms[name] = F.softplus if positive else (lambda v: v)
        return self.transforms[name](self.unconstrained[name])


store = ParamStore()


def model(data):
    mu = store.param("mu", 0.0)
    scale = store.param("scale", 1.0, positive=True)
    return Normal(mu, scale).log_prob(data).sum()


observed = 5.0 + 2.5 * torch.randn(200)
mu = store.param("mu", 0.0)
scale = store.param("scale", 1.0, positive=True)
optimizer = torch.optim.Adam([mu, scale], lr=0.05)
for step in range(1, 501):
    loss = -model(observed)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        current = store.param("scale").item()
        print(f"step {step}: loss {loss.item():.2f}, mu {store.param('mu').item():.3f}, scale {current:.3f}")
