import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


class Encoder(nn.Module):
    def __init__(self, n_in=40, dim=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.proj = nn.Linear(64, dim)

    def forward(self, x):
        return F.normalize(self.proj(self.net(x)), dim=1)


class Trainer:
    def __init__(self):
        self.model = Encoder()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def nt_xent_loss(self, z_i, z_j, temperature):
        z = torch.cat([z_i, z_j], dim=0)
        sim_matrix = torch.mm(z, z.T) / temperature
        logits_max, _ = torch.max(sim_matrix, dim=1, keepdim=True)
        logits = sim_matrix - logits_max.detach()
        mask = torch.eye(z.size(0), dtype=torch.bool, device=z.device)
        labels = torch.arange(z.size(0), device=z.device)
        labels = torch.cat([labels[z_i.size(0):], labels[:z_j.size(0)]], dim=0)
        logits = logits.masked_fill(mask, float("-inf"))
        return F.cross_entropy(logits, labels)

    def fit(self, x, epochs=12, batch=64):
        for epoch in range(epochs):
            total = 0.0
            batches = torch.randperm(len(x)).split(batch)
            for idx in batches:
                z_i, z_j = self.model(augment(x[idx])), self.model(augment(x[idx]))
                loss = self.nt_xent_loss(z_i, z_j, 0.5)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            if epoch % 3 == 0 or epoch == epochs - 1:
                print(f"epoch {epoch} contrastive loss {total / len(batches):.4f} retrieval@1 {self.retrieval(x[:256]):.3f}")

    @torch.no_grad()
    def retrieval(self, x):
        a, b = self.model(augment(x)), self.model(augment(x))
        return ((a @ b.T).argmax(1) == torch.arange(len(x))).float().mean().item()


def augment(x):
    noisy = x.clone()
    noisy[:, 20:] = torch.randn(len(x), 20) * 2
    return noisy + 0.2 * torch.randn_like(x)


x = torch.randn(1024, 40)
Trainer().fit(x)
