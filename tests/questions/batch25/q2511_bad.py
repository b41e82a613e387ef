import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

x = torch.randn(4000, 20)
w = torch.randn(20)
y = ((torch.tanh(x) @ w + 0.3 * torch.randn(4000)) > 0).float().unsqueeze(1)
train_loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)


class BinaryNet(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.linear1 = nn.Linear(n_in, n_hidden)
        self.linear2 = nn.Linear(n_hidden, n_hidden)
        self.linear3 = nn.Linear(n_hidden, 1)

    def forward(self, inputs):
        h = torch.relu(self.linear1(inputs))
        h = torch.relu(self.linear2(h))
        return torch.sigmoid(self.linear3(h))


model = BinaryNet(x.shape[1], 64)
criterion = nn.BCELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
num_epochs = 25
history = []

for epoch in range(num_epochs):
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        output = model(inputs)
        loss = criterion(output, labels)
        loss.backward()
        optimizer.step()
    output = (output > 0.5).float()
    correct = (output == labels).float().sum()
    accuracy = (correct / x.shape[0]).item()
    history.append(accuracy)
    if (epoch + 1) % 5 == 0:
        print("Epoch {}/{}, Loss: {:.3f}, Accuracy: {:.4f}".format(epoch + 1, num_epochs, loss.item(), accuracy))

print("best accuracy %.4f" % max(history))
