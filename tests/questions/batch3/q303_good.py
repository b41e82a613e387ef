import torch

torch.manual_seed(1)
torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = torch.nn.Linear(196, 100)
        self.layer2 = torch.nn.Linear(100, 10)

    def forward(self, x):
        x = torch.sigmoid(self.layer1(x))
        x = torch.sigmoid(self.layer2(x))
        return x


def make_images(count):
    patterns = (torch.rand(10, 196, generator=torch.Generator().manual_seed(5)) > 0.7).float()
    labels = torch.randint(0, 10, (count,))
    images = (patterns[labels] + 0.2 * torch.randn(count, 196)).clamp(0, 1)
    return images.view(count, 14, 14), labels


batch_size = 32
images_all, labels_all = make_images(1600)
net = Net()
loss_function = torch.nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.2)

for start in range(0, len(images_all), batch_size):
    images, labels = images_all[start : start + batch_size], labels_all[start : start + batch_size]
    optimizer.zero_grad()
    total = 0.0
    for i in range(batch_size):
        output = net(torch.flatten(images[i]))
        desired_output = torch.tensor([float(j == labels[i]) for j in range(10)])
        loss = loss_function(output, desired_output)
        loss.backward()
        total += loss.item()
    optimizer.step()
    if start % 320 == 0:
        print(f"{start}: loss {total / batch_size:.4f}")

with torch.no_grad():
    test_images, test_labels = make_images(200)
    outputs = net(test_images.flatten(1))
    for row in outputs[:3]:
        print([round(v, 4) for v in row.tolist()])
    print("accuracy", (outputs.argmax(1) == test_labels).float().mean().item())
