import torch
import torch.nn as nn
from torch.autograd import grad


def gradient_penalty(critic, h_s, h_t):
    alpha = torch.rand(h_s.size(0), 1)
    differences = h_t - h_s
    interpolates = h_s + (alpha * differences)
    interpolates = torch.stack([interpolates, h_s, h_t]).requires_grad_()

    preds = critic(interpolates)
    gradients = grad(preds, interpolates, grad_outputs=torch.ones_like(preds), retain_graph=True, create_graph=True)[0]
    gradient_norm = gradients.norm(2, dim=1)
    return ((gradient_norm - 1) ** 2).mean()


class FeatureExtractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x):
        return self.net(x)


def sample(n, shift):
    y = torch.randint(2, (n,))
    x = torch.randn(n, 10)
    x[:, 0] += 3 * (y.float() * 2 - 1)
    x[:, 1] += shift
    return x, y


torch.manual_seed(0)
batch_size, k_critic, gamma, wd_clf = 64, 5, 10, 0.1
extractor, discriminator = FeatureExtractor(), nn.Linear(8, 2)
critic = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
critic_optim = torch.optim.Adam(critic.parameters(), lr=1e-3)
clf_optim = torch.optim.Adam(list(extractor.parameters()) + list(discriminator.parameters()), lr=1e-4)

source, _ = sample(4000, 0.0)
target, _ = sample(4000, 5.0)
for it in range(300):
    x_s, y_s = sample(batch_size, 0.0)
    x_t, _ = sample(batch_size, 5.0)
    with torch.no_grad():
        h_s, h_t = extractor(x_s), extractor(x_t)
    for _ in range(k_critic):
        gp = gradient_penalty(critic, h_s, h_t)
        wasserstein_distance = critic(h_s).mean() - critic(h_t).mean()
        critic_cost = -wasserstein_distance + gamma * gp
        critic_optim.zero_grad()
        critic_cost.backward()
        critic_optim.step()
    features_s, features_t = extractor(x_s), extractor(x_t)
    clf_loss = nn.functional.cross_entropy(discriminator(features_s), y_s)
    loss = clf_loss + wd_clf * (critic(features_s).mean() - critic(features_t).mean())
    clf_optim.zero_grad()
    loss.backward()
    clf_optim.step()
    if it % 30 == 29:
        with torch.no_grad():
            f_s, f_t = extractor(source), extractor(target)
            gap = (f_s.mean(0) - f_t.mean(0)).norm()
        probe = (0.5 * f_s + 0.5 * f_t).requires_grad_()
        per_sample = grad(critic(probe).sum(), probe)[0].norm(2, dim=1).mean()
        print(f"iter {it + 1} clf {clf_loss.item():.4f} penalty {gp.item():.4f} critic distance {wasserstein_distance.item():.3f} "
              f"distance of the means {gap:.3f} critic slope {per_sample:.3f}")
