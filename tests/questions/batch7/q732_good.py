import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class PatchEncoder(nn.Module):
    def __init__(self, channels=16, out=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, channels, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(channels, channels, 5, padding=2),
            nn.ReLU(),
        )
        self.project = nn.Linear(channels, out)

    def forward(self, patches):
        return self.project(self.conv(patches).mean(2))


class PatchTripletLoss(nn.Module):
    def __init__(self, margin=0.5):
        super().__init__()
        self.margin = margin

    def forward(self, anchors, positives):
        anchors = F.normalize(anchors, dim=1)
        positives = F.normalize(positives, dim=1)
        pos_sims = (anchors * positives).sum(1)
        sim_ap = anchors @ positives.t()
        sim_ap_f = sim_ap.clone()
        sim_ap_f.diagonal().fill_(-2.0)
        neg_dists = 1 - sim_ap_f
        hard_neg_dists, _ = torch.min(neg_dists, dim=1)
        pos_dists = 1 - pos_sims
        return F.relu(pos_dists - hard_neg_dists + self.margin).mean()


class SeriesPatches:
    def __init__(self, kinds=12, length=32):
        self.frequency = torch.linspace(1.0, 12.0, kinds)
        self.time = torch.linspace(0, 1, length)

    def view(self, kind):
        phase = 2 * torch.pi * torch.rand(len(kind), 1)
        wave = torch.sin(2 * torch.pi * self.frequency[kind].unsqueeze(1) * self.time + phase)
        return (wave + 0.2 * torch.randn_like(wave)).unsqueeze(1)

    def pair(self, n=12):
        kind = torch.randperm(len(self.frequency))[:n]
        return self.view(kind), self.view(kind)


@torch.no_grad()
def retrieval(model, patches, rounds=20):
    hits = 0.0
    for _ in range(rounds):
        a, b = patches.pair()
        sims = F.normalize(model(a), dim=1) @ F.normalize(model(b), dim=1).t()
        hits += (sims.argmax(1) == torch.arange(len(sims))).float().mean().item()
    return hits / rounds


def main():
    patches = SeriesPatches()
    model = PatchEncoder()
    criterion = PatchTripletLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
    for step in range(1, 241):
        a, p = patches.pair()
        loss = criterion(model(a), model(p))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 80 == 0:
            print(f"step {step}: triplet loss {loss.item():.4f} retrieval {retrieval(model, patches):.3f}")


if __name__ == "__main__":
    main()
