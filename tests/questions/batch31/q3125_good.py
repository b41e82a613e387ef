import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
N_CLASSES, BANDS, SIZE = 5, 12, 8
IGNORED_LABELS = [0]
spectra = torch.randn(N_CLASSES, BANDS)


def patches(n):
    label = torch.randint(1, N_CLASSES, (n, 2, 2)).repeat_interleave(SIZE // 2, 1).repeat_interleave(SIZE // 2, 2)
    image = spectra[label].permute(0, 3, 1, 2) + 0.7 * torch.randn(n, BANDS, SIZE, SIZE)
    label = torch.where(torch.rand(n, SIZE, SIZE) < 0.5, torch.zeros_like(label), label)
    return image, label


class FCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(BANDS, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 32, 1)
        self.conv3 = nn.Conv2d(32, N_CLASSES, 1)

    def forward(self, x):
        return self.conv3(F.relu(self.conv2(F.relu(self.conv1(x)))))


def val(net, data_loader):
    accuracy, total = 0., 0.
    ignored_labels = data_loader.dataset.ignored_labels
    for data, target in data_loader:
        with torch.no_grad():
            output = net(data)
            _, output = torch.max(output, dim=1)
            for out, pred in zip(output.view(-1), target.view(-1)):
                if pred.item() in ignored_labels:
                    continue
                else:
                    accuracy += out.item() == pred.item()
                    total += 1
    return accuracy / total


train_set, val_set = TensorDataset(*patches(200)), TensorDataset(*patches(40))
val_set.ignored_labels = IGNORED_LABELS
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
val_loader = DataLoader(val_set, batch_size=20)
weights = torch.ones(N_CLASSES)
weights[IGNORED_LABELS] = 0.
net = FCN()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for e in range(1, 7):
    net.train()
    avg_loss = 0.
    for data, target in train_loader:
        optimizer.zero_grad()
        output = net(data)
        loss = F.cross_entropy(output, target, weight=weights)
        loss.backward()
        optimizer.step()
        avg_loss += loss.item() / len(train_loader)
    net.eval()
    print(f"epoch {e}  train loss {avg_loss:.4f}  val accuracy {val(net, val_loader):.3f}")
