import torch
from torch import nn

torch.manual_seed(0)
num_species, max_atoms = 5, 8
species_energy = torch.tensor([-1.0, 0.4, 1.3, -0.6, 0.8])


class GraphReadout(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(num_species, hidden)
        self.message = nn.Sequential(nn.Linear(hidden + 1, hidden), nn.SiLU())
        self.update = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.SiLU())
        self.projection = nn.Linear(hidden, 1)

    def forward(self, batch):
        h = self.embedding(batch["species"])
        distance = torch.cdist(batch["pos"], batch["pos"]).unsqueeze(-1)
        pair = torch.cat([h.unsqueeze(1).expand(-1, max_atoms, -1, -1), distance], dim=-1)
        mask = batch["mask"].unsqueeze(-1)
        near = torch.exp(-distance) * mask.unsqueeze(1)
        h = h + self.update(torch.cat([h, (self.message(pair) * near).sum(dim=2)], dim=-1))
        return (self.projection(h) * mask).sum(dim=(1, 2))


def load_batch(n=64):
    species = torch.randint(0, num_species, (n, max_atoms))
    mask = (torch.arange(max_atoms) < torch.randint(3, max_atoms + 1, (n, 1))).float()
    pos = torch.randn(n, max_atoms, 3)
    pair = torch.exp(-torch.cdist(pos, pos)) * mask.unsqueeze(1) * mask.unsqueeze(2)
    energy = (species_energy[species] * mask).sum(1) + 0.2 * pair.sum((1, 2)) - 0.2 * mask.sum(1)
    return {"species": species, "pos": pos, "mask": mask, "targets": {"energy_total": energy.unsqueeze(-1)}}


class ScalarRegressionTask:
    def __init__(self, encoder):
        self.encoder = encoder
        self.loss_func = nn.MSELoss()

    def compute_losses(self, batch):
        predictions = {"energy_total": self.encoder(batch)}
        losses = {}
        for key, target in batch["targets"].items():
            losses[key] = self.loss_func(predictions[key].view_as(target), target)
        return sum(losses.values())


encoder = GraphReadout()
task = ScalarRegressionTask(encoder)
optimizer = torch.optim.AdamW(encoder.parameters(), lr=3e-3)
for step in range(600):
    loss = task.compute_losses(load_batch())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 150 == 0:
        print(f"step {step + 1}: train_loss {loss.item():.4f}")

with torch.no_grad():
    batch = load_batch(512)
    predicted, energy = encoder(batch), batch["targets"]["energy_total"].flatten()
    correlation = torch.corrcoef(torch.stack([predicted, energy]))[0, 1].item()
print(f"spread of energies {energy.std().item():.3f}, of predictions {predicted.std().item():.3f}")
print(f"MAE {(predicted - energy).abs().mean().item():.3f}  correlation {correlation:.3f}")
