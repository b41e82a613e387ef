import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
np.random.seed(0)


class FaceModel(nn.Module):
    def __init__(self, dim=24, embedding_size=16, num_classes=8):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, embedding_size))
        self.classifier = nn.Linear(embedding_size, num_classes)

    def forward(self, x):
        return 10 * F.normalize(self.model(x), dim=1)

    def forward_classifier(self, x):
        return self.classifier(self.forward(x))


class TripletMarginLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative):
        d_p = (anchor - positive).norm(dim=1)
        d_n = (anchor - negative).norm(dim=1)
        return torch.clamp(self.margin + d_p - d_n, min=0.0).mean()


def distance(a, b):
    return (a - b).pow(2).sum(1).sqrt()


def make_faces(n=800, people=40, dim=24):
    identity = np.random.randint(0, people, n)
    centers = 1.0 * torch.randn(people, dim)
    return centers[identity] + 0.8 * torch.randn(n, dim), identity


def triplets(identity, n):
    a = np.random.randint(0, len(identity), n)
    p = np.array([np.random.choice(np.flatnonzero(identity == identity[i])) for i in a])
    q = np.array([np.random.choice(np.flatnonzero(identity != identity[i])) for i in a])
    return a, p, q


def main():
    faces, identity = make_faces()
    groups = torch.from_numpy(identity % 8)
    model = FaceModel()
    margin = 5.0
    criterion = TripletMarginLoss(margin)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(1, 161):
        a, p, n = triplets(identity, 64)
        out_a, out_p, out_n = model(faces[a]), model(faces[p]), model(faces[n])
        d_p, d_n = distance(out_a, out_p), distance(out_a, out_n)
        hard = (d_n - d_p < margin).cpu().data.numpy().flatten()
        hard_triplets = np.where(hard)[0]
        if len(hard_triplets) == 0:
            continue
        out_selected_a = out_a[hard_triplets]
        out_selected_p = out_p[hard_triplets]
        out_selected_n = out_n[hard_triplets]
        triplet_loss = criterion(out_selected_a, out_selected_p, out_selected_n)
        cross_entropy_loss = F.cross_entropy(model.forward_classifier(faces[a]), groups[a])
        loss = cross_entropy_loss + triplet_loss

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            right = (d_p < d_n).float().mean().item()
            print(
                f"step {step}: entropy {cross_entropy_loss.item():.3f} triplet {triplet_loss.item():.3f}"
                f" hard {len(hard_triplets)} of 64, order right {right:.3f}"
            )


if __name__ == "__main__":
    main()
