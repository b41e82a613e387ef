import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
WAYS, SHOTS, DIM, NOISE = 5, 1, 24, 2.0
projection = torch.randn(8, DIM)


class Classifier(nn.Module):
    def __init__(self, dim=DIM, out=64):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, out))

    def forward(self, x):
        return self.layers(x)


class DistanceNetwork(nn.Module):
    def forward(self, support_set, input_image):
        return torch.einsum("bkd,bd->bk", F.normalize(support_set, dim=-1), input_image)


class AttentionalClassify(nn.Module):
    def forward(self, similarities, support_set_y):
        return torch.bmm(similarities.unsqueeze(1), support_set_y).squeeze(1)


class MatchingNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = Classifier()
        self.dn = DistanceNetwork()
        self.classify = AttentionalClassify()

    def forward(self, support_set_images, support_set_y_one_hot, target_image, target_y):
        similarities = self.dn(self.g(support_set_images), self.g(target_image))
        preds = self.classify(similarities, support_set_y_one_hot)
        accuracy = (preds.argmax(dim=1) == target_y).float().mean()
        loss = F.cross_entropy(preds, target_y)
        return accuracy, loss


def sample_episodes(batch):
    centres = torch.randn(batch, WAYS, 8)
    support = centres @ projection + NOISE * torch.randn(batch, WAYS, DIM)
    target_y = torch.randint(0, WAYS, (batch,))
    target = centres[torch.arange(batch), target_y] @ projection + NOISE * torch.randn(batch, DIM)
    return support, torch.eye(WAYS).expand(batch, -1, -1), target, target_y


model = MatchingNetwork()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(400):
    accuracy, loss = model(*sample_episodes(32))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 100 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f} accuracy {accuracy.item():.3f}")

with torch.no_grad():
    accuracy, loss = model(*sample_episodes(3000))
print(f"test: loss {loss.item():.4f} accuracy {accuracy.item():.3f}")
