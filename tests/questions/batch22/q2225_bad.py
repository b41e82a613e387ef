import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
DIM, LATENT, CLASSES, BETA = 60, 16, 5, 5e-2


def make(n, centers):
    y = torch.randint(0, CLASSES, (n,))
    x = torch.randn(n, DIM)
    x[:, :10] += centers[y]
    return x, y


class BottleneckNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(DIM, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.to_mu = nn.Linear(128, LATENT)
        self.to_logvar = nn.Linear(128, LATENT)
        self.classifier = nn.Linear(LATENT, CLASSES)

    def kld_gauss(self, mu_1, logsigma_1, mu_2, logsigma_2):
        sigma_1 = torch.exp(logsigma_1)
        sigma_2 = torch.exp(logsigma_2)
        p = torch.distributions.Normal(mu_1, sigma_1)
        q = torch.distributions.Normal(mu_2, sigma_2)
        return torch.distributions.kl_divergence(p, q).sum(1).mean()

    def forward(self, x):
        h = self.encoder(x)
        mu = self.to_mu(h)
        logvar = self.to_logvar(h)
        std = torch.exp(0.5 * logvar)
        z = mu + std * torch.randn_like(std) if self.training else mu
        kl = self.kld_gauss(mu, std, torch.zeros_like(mu), torch.zeros_like(std))
        return self.classifier(z), kl, std


centers = torch.randn(CLASSES, 10) * 0.9
x_train, y_train = make(600, centers)
x_test, y_test = make(4000, centers)
model = BottleneckNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(120):
    model.train()
    for idx in torch.randperm(len(x_train)).split(50):
        logits, kl, std = model(x_train[idx])
        ce = F.cross_entropy(logits, y_train[idx])
        loss = ce + BETA * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 30 == 29:
        print(f"epoch {epoch + 1:3d}  ce {ce.item():.4f}  kl {kl.item():.4f}  std {std.mean().item():.4f}")

model.eval()
with torch.no_grad():
    logits, _, std = model(x_test)
    acc = (logits.argmax(1) == y_test).float().mean().item()
    mu = model.to_mu(model.encoder(x_test))
    p = torch.distributions.Normal(mu, std)
    rate = torch.distributions.kl_divergence(p, torch.distributions.Normal(0.0, 1.0)).sum(1).mean().item()
print(f"test ce {F.cross_entropy(logits, y_test).item():.4f}  accuracy {acc:.3f}  mean std {std.mean().item():.4f}  rate {rate:.2f} nats")
