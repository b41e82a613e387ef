import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
num_part, num_points = 4, 128


def knn_features(x, k=6):
    distance = torch.cdist(x.transpose(1, 2), x.transpose(1, 2))
    index = distance.topk(k, largest=False).indices
    batch = torch.arange(x.shape[0]).view(-1, 1, 1)
    neighbours = x.transpose(1, 2)[batch, index]
    center = x.transpose(1, 2).unsqueeze(2).expand_as(neighbours)
    return torch.cat([neighbours - center, center], dim=-1).permute(0, 3, 1, 2)


class DGCNNPartSeg(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(6, 32, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2))
        self.conv2 = nn.Sequential(nn.Conv1d(32, 64, 1, bias=False), nn.BatchNorm1d(64), nn.LeakyReLU(0.2))
        self.conv3 = nn.Conv1d(32 + 64, num_part, 1)

    def forward(self, x):
        local = self.conv1(knn_features(x)).max(dim=-1).values
        shape = self.conv2(local).max(dim=-1, keepdim=True).values
        x = torch.cat([local, shape.expand(-1, -1, x.shape[2])], dim=1)
        return F.log_softmax(self.conv3(x), dim=1).transpose(2, 1)


def load_batch(n=16):
    points = torch.rand(n, num_points, 3) * 2 - 1
    part = (points[..., 0] > 0).long() * 2 + (points[..., 2] > 0.2).long()
    return points, part


def accuracy(classifier, batches=8):
    classifier.eval()
    correct = seen = 0
    with torch.no_grad():
        for _ in range(batches):
            points, target = load_batch()
            seg_pred = classifier(points.transpose(2, 1))
            pred_choice = seg_pred.contiguous().view(-1, num_part).argmax(1)
            correct += (pred_choice == target.view(-1)).sum().item()
            seen += target.numel()
    classifier.train()
    return correct / seen


classifier = DGCNNPartSeg()
optimizer = torch.optim.Adam(classifier.parameters(), lr=2e-3)
for step in range(120):
    points, target = load_batch()
    optimizer.zero_grad()
    seg_pred = classifier(points.transpose(2, 1))
    seg_pred = seg_pred.contiguous().view(-1, num_part)
    loss = F.nll_loss(seg_pred, target.view(-1))
    loss.backward()
    optimizer.step()
    if (step + 1) % 40 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f}  point accuracy {accuracy(classifier):.3f}")
