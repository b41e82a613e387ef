import torch
from torch.distributions import Normal, Poisson

torch.manual_seed(18)

n_neurons, n_trials = 30, 20
z_true = torch.tensor([1.2, -0.7])
C = 0.5 * torch.randn(n_neurons, 2)
b = torch.full((n_neurons,), 0.5)
counts = torch.poisson((C @ z_true + b).exp().expand(n_trials, n_neurons))

prior = Normal(torch.zeros(2), torch.ones(2))
sn = Normal(torch.zeros(2), torch.ones(2))
mu = torch.zeros(2, requires_grad=True)
log_sigma = torch.zeros(2, requires_grad=True)
optimizer = torch.optim.Adam([mu, log_sigma], lr=0.02)
nMC = 16


def expected_loglik(X):
    rate = (X @ C.t() + b).clamp(max=8).exp()
    return Poisson(rate.unsqueeze(1)).log_prob(counts).sum((1, 2)).mean()


def elbo(mu, sigma):
    X = (sn.sample(torch.Size([nMC])) + mu) * sigma
    entropy = Normal(mu, sigma).entropy().sum()
    return expected_loglik(X) + prior.log_prob(X).sum(1).mean() + entropy


for it in range(800):
    sigma = log_sigma.exp()
    loss = -elbo(mu, sigma)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 160 == 159:
        print(f"iter {it + 1} loss {loss.item():.3f} mu {mu.detach().numpy().round(3)}"
              f" sigma {log_sigma.exp().detach().numpy().round(3)}")

with torch.no_grad():
    print("true latent", z_true.numpy().round(3))
    print("error of the posterior mean", round((mu - z_true).norm().item(), 3))
