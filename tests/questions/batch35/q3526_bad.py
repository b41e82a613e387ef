import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)

sequence_length = 28
input_size = 8
hidden_size = 24
num_layers = 1
num_classes = 4
batch_size = 64
num_epochs = 6
learning_rate = 0.005


class BiRNN(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, num_classes):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(hidden_size * 2, num_classes)

    def forward(self, x):
        h0 = torch.zeros(self.num_layers * 2, x.size(0), self.hidden_size)
        c0 = torch.zeros(self.num_layers * 2, x.size(0), self.hidden_size)
        out, _ = self.lstm(x, (h0, c0))
        out = self.fc(out[:, -1, :])
        return out


def make_rows(count):
    labels = torch.randint(0, num_classes, (count,))
    rows = torch.randn(count, sequence_length, input_size)
    rows[torch.arange(count), 1, labels] += 3.0
    return TensorDataset(rows, labels)


train_loader = DataLoader(make_rows(1920), batch_size=batch_size, shuffle=True)
test_loader = DataLoader(make_rows(640), batch_size=batch_size)
model = BiRNN(input_size, hidden_size, num_layers, num_classes)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

for epoch in range(num_epochs):
    for images, labels in train_loader:
        outputs = model(images)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Epoch [{epoch + 1}/{num_epochs}], Loss: {loss.item():.4f}")

model.eval()
with torch.no_grad():
    correct = sum((model(images).argmax(1) == labels).sum().item() for images, labels in test_loader)
print(f"Test Accuracy of the model: {correct / 640:.3f}")
