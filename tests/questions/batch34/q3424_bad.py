import torch
import torch.nn as nn

torch.manual_seed(0)


class HierarchicalLossNetwork:
    def __init__(self, hierarchy, total_level=2, alpha=1.0, beta=0.8, p_loss=3):
        self.hierarchy, self.total_level = hierarchy, total_level
        self.alpha, self.beta, self.p_loss = alpha, beta, p_loss

    def check_hierarchy(self, current_level, previous_level):
        return torch.FloatTensor(
            [not current_level[i].item() in self.hierarchy[previous_level[i].item()] for i in range(len(current_level))]
        )

    def calculate_lloss(self, predictions, true_labels):
        return sum(nn.CrossEntropyLoss()(predictions[l], true_labels[l]) for l in range(self.total_level))

    def calculate_dloss(self, predictions, true_labels):
        dloss = 0
        for l in range(1, self.total_level):
            current_lvl_pred = torch.argmax(nn.Softmax(dim=1)(predictions[l]), dim=1)
            prev_lvl_pred = torch.argmax(nn.Softmax(dim=1)(predictions[l - 1]), dim=1)
            D_l = self.check_hierarchy(current_lvl_pred, prev_lvl_pred)
            l_prev = torch.where(prev_lvl_pred == true_labels[l - 1], 0.0, 1.0)
            l_curr = torch.where(current_lvl_pred == true_labels[l], 0.0, 1.0)
            dloss += torch.mean(torch.pow(self.p_loss, D_l * l_prev) * torch.pow(self.p_loss, D_l * l_curr) - 1)
        return self.beta * dloss


class HierarchicalNet(nn.Module):
    def __init__(self, size=20, supers=4, subs=12):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, 48), nn.ReLU())
        self.level1, self.level2 = nn.Linear(48, supers), nn.Linear(48, subs)

    def forward(self, x):
        h = self.body(x)
        return self.level1(h), self.level2(h)


def main():
    hierarchy = {s: list(range(3 * s, 3 * s + 3)) for s in range(4)}
    centers = 0.7 * torch.randn(12, 20)
    y = torch.randint(0, 12, (800,))
    x = centers[y] + 1.2 * torch.randn(800, 20)
    model = HierarchicalNet()
    hln = HierarchicalLossNetwork(hierarchy)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(12):
        for index in torch.randperm(800).split(50):
            prediction = model(x[index])
            labels = [y[index] // 3, y[index]]
            dloss = hln.calculate_dloss(prediction, labels)
            lloss = hln.calculate_lloss(prediction, labels)
            total_loss = lloss + dloss
            optimizer.zero_grad()
            total_loss.backward()
            optimizer.step()
        if epoch % 4 == 3:
            print(epoch, "layer loss", round(lloss.item(), 3), "dependence loss", round(dloss.item(), 3))
    with torch.no_grad():
        first, second = (p.argmax(1) for p in model(x))
    print("labels outside of their parent", ((second // 3) != first).sum().item())


main()
