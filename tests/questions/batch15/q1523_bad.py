import torch
from torch import nn
from torch.distributions import Normal
from torch.func import functional_call

DIM = 5
TASKS_PER_STEP = 8


class DistributionPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(DIM))
        self.sigma = nn.Parameter(torch.randn(DIM))

    def forward(self):
        return Normal(self.mu, 0.1 + nn.functional.softplus(self.sigma))


class Learner:
    def __init__(self, module, params, lrs):
        self.module, self.params, self.lrs = module, params, lrs

    def __call__(self):
        return functional_call(self.module, self.params, ())

    def adapt(self, loss):
        grads = torch.autograd.grad(loss, list(self.params.values()), create_graph=True)
        self.params = {
            name: value - self.lrs[name] * grad for (name, value), grad in zip(self.params.items(), grads)
        }


class MetaSGD(nn.Module):
    def __init__(self, module, lr):
        super().__init__()
        self.module = module
        self.lrs = nn.ParameterDict(
            {n: nn.Parameter(torch.full_like(p, lr)) for n, p in module.named_parameters()}
        )

    def clone(self):
        return Learner(self.module, {n: p.clone() for n, p in self.module.named_parameters()}, self.lrs)


def task_loss(proposal, mu, variance):
    return (mu - proposal.mean).pow(2).sum() + (variance - proposal.variance).pow(2).sum()


def main():
    torch.manual_seed(0)
    task_dist = Normal(torch.zeros(2 * DIM), torch.ones(2 * DIM))
    meta = MetaSGD(DistributionPolicy(), lr=0.01)
    opt = torch.optim.Adam(meta.parameters(), lr=0.01)
    for step in range(180):
        before, step_loss = 0.0, 0.0
        for _ in range(TASKS_PER_STEP):
            task_params = task_dist.sample()
            mu_i, var_i = task_params[:DIM], task_params[DIM:].abs()
            learner = meta.clone()
            proposal = learner()
            loss = task_loss(proposal, mu_i, var_i)
            learner.adapt(loss)
            adapt_loss = task_loss(proposal, mu_i, var_i)
            before += loss.item() / TASKS_PER_STEP
            step_loss += adapt_loss / TASKS_PER_STEP
        opt.zero_grad()
        step_loss.backward()
        opt.step()
        if step % 30 == 29:
            rate = torch.cat(list(meta.lrs.values())).mean().item()
            print(
                f"step {step + 1}: loss {before:.4f}  adapt_loss {step_loss.item():.4f}  learned rate {rate:.4f}"
            )


if __name__ == "__main__":
    main()
