import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(3)
device = torch.device("cpu")
n_features, n_hidden, n_classes = 8, 64, 3
batch_size, epochs, lr = 64, 12, 1e-3


class SkyObjects(Dataset):
    centers = 1.1 * torch.randn(n_classes, n_features)

    def __init__(self, n):
        self.y = torch.randint(0, n_classes, (n,))
        self.x = self.centers[self.y] + 1.3 * torch.randn(n, n_features)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


train_set = SkyObjects(9000)
test_set = SkyObjects(1988)
train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
test_loader = DataLoader(test_set, batch_size=batch_size, shuffle=False)


class NeuralNet(nn.Module):
    def __init__(self, n_in, n_hid, n_out):
        super().__init__()
        self.l1 = nn.Linear(n_in, n_hid)
        self.act = nn.LeakyReLU()
        self.l2 = nn.Linear(n_hid, n_out)

    def forward(self, x):
        return self.l2(self.act(self.l1(x)))


model = NeuralNet(n_features, n_hidden, n_classes).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=lr)

for epoch in range(epochs):
    model.train()
    total, hits = 0.0, 0
    for inputs, labels in train_loader:
        inputs, labels = inputs.to(device), labels.to(device)
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        hits += (outputs.argmax(1) == labels).sum().item()

    model.eval()
    with torch.no_grad():
        n_correct = 0
        n_samples = 0
        for inputs, labels in test_loader:
            inputs, labels = inputs.to(device), labels.to(device)
            outputs = model(inputs)
            _, predicted = torch.max(outputs, 1)
            n_samples += labels.size(0)
            n_correct += (predicted == labels).sum().item()
        acc = 100.0 * n_correct / n_samples

    print(f"epoch {epoch + 1:2d} train loss {total / len(train_set):.4f} "
          f"train acc {100 * hits / len(train_set):.2f} test acc {acc:.2f}")
