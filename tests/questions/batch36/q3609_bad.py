import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(8)
PEOPLE = torch.randn(20, 32)


class SiameseDataset(Dataset):
    def __init__(self, n):
        self.n = n
        self.g = torch.Generator().manual_seed(n)

    def __len__(self):
        return self.n

    def face(self, person):
        return PEOPLE[person] + 0.7 * torch.randn(32, generator=self.g)

    def __getitem__(self, idx):
        a = torch.randint(0, 20, (1,), generator=self.g).item()
        same = torch.rand(1, generator=self.g).item() < 0.5
        b = a if same else (a + 1 + torch.randint(0, 19, (1,), generator=self.g).item()) % 20
        return self.face(a), self.face(b), torch.tensor([float(a != b)])


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5))

    def forward(self, input1, input2):
        return self.fc1(input1), self.fc1(input2)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        euclidean_distance = F.pairwise_distance(output1, output2)
        loss_contrastive = torch.mean((1 - label) * torch.pow(euclidean_distance, 2)
                                      + label * torch.pow(torch.clamp(self.margin - euclidean_distance, min=0.0), 2))
        return loss_contrastive


train_dataloader = DataLoader(SiameseDataset(1600), shuffle=True, batch_size=64)
test_dataloader = DataLoader(SiameseDataset(600), batch_size=100)
net = SiameseNetwork()
criterion = ContrastiveLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(15):
    for img0, img1, label in train_dataloader:
        optimizer.zero_grad()
        output1, output2 = net(img0, img1)
        loss_contrastive = criterion(output1, output2, label)
        loss_contrastive.backward()
        optimizer.step()
    hits = 0
    with torch.no_grad():
        for img0, img1, label in test_dataloader:
            d = F.pairwise_distance(*net(img0, img1))
            hits += ((d > 1.0).float() == label[:, 0]).sum().item()
    print(f"Epoch {epoch} loss {loss_contrastive.item():.4f} verification accuracy {hits / 600:.3f}")
